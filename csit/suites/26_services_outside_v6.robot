*** Settings ***
Documentation       Services that are asked from outside by IPv6, and by datagrams of both versions: all endpoints, sources, local traffic
...                 policy, and addresses that move between nodes: withdrawn, then announced, while a host asks for them all the time. And node
...                 ports at the nodes' own addresses of IPv6.
Resource            ../resources/coeus.resource
Library             ../libraries/NorthSouth.py
Library             ../libraries/Floating.py
Library             ../libraries/Services.py
Library             ../libraries/ServicesOutside.py
Library             ../libraries/Announcements.py
Suite Setup         Start Two Nodes With Servers And Hosts
Suite Teardown      Stop All

*** Variables ***
${WEB}              5e1f0000-0000-4000-8000-000000000026
${V4}               203.0.113.12
${V6}               2001:db8:113::12
${BALANCER}          2001:db8:113::13
@{ALL}              ${V4}    ${V6}    ${BALANCER}
${SERVICES}         ${CONFIG}/service:service-information/services
${ENDPOINTS}        ${CONFIG}/service:endpoints-info/endpoints
${NETWORKS}         ${CONFIG}/odl-nat:external-networks/networks
${INFO}             ${CONFIG}/odl-nat:floating-ip-info
${ADDRESSES}        ${OPERATIONAL}/coeus-external:floating-addresses/floating-address
${LOST}             ${OPERATIONAL}/coeus-external:lost-switches
${NODE V6}          2001:db8:56::
${WAIT}             wait=programmed&timeout=10s

*** Test Cases ***
Nobody Is Asked Before There Is A Service
    FOR    ${address}    IN    @{ALL}
        Host Should Get No Answer    host    ${address}    80
        Host Should Get No Answer    host    ${address}    53    UDP
    END

Addresses Of Both Versions Lead To All Endpoints
    [Documentation]    external-ip-address, load-balancer-IP and ingress-ip-address alike; hosts of the link, and beyond it.
    Put Web
    Put Endpoints    ${BOTH}
    FOR    ${address}    IN    @{ALL}
        Resource Should Come To Say    ${ADDRESSES}/${address}    desired
        FOR    ${host}    IN    host    gateway
            Host Should Be Answered Again    ${host}    ${address}    80
            Host Should Be Answered    ${host}    ${address}    80    among=${NAMES}
            Host Should Be Answered    ${host}    ${address}    53    UDP    among=${NAMES}    all_of_them=${False}
        END
        ${answers}=    Floating.Who Answers    host    ${address}
        Should Be Equal As Integers    ${answers}    1
    END
    Resource Should Say    ${INFO}    ${V4}    ${V6}    blue:w1

From Pods As Well
    FOR    ${pod}    IN    blue:w1    blue:w2
        Service Should Answer    ${pod}    ${V6}    80    among=${NAMES}    times=16
        Service Should Answer    ${pod}    ${V6}    53    UDP    among=${NAMES}    times=16    all_of_them=${False}
    END

Endpoints See Who Asks
    Sources Should Be Seen

Much Goes Through
    FOR    ${host}    IN    host    gateway
        FOR    ${try}    IN RANGE    3
            ${bytes}=    Bytes Back    ${host}    ${V6}    80
            Should Be Equal As Integers    ${bytes}    1048576
        END
    END

A Sender Outside That Never Pauses Has Another Endpoint At Once
    [Documentation]    Datagrams of both versions.
    FOR    ${address}    IN    ${V4}    ${V6}
        ${name}=    Who Answers Host    host    ${address}    53    UDP
        ${left}=    Set Variable If    "${name}" == "blue:w1"    ${SECOND}    ${FIRST}
        ${away}=    Create List    Put Endpoints    ${left}
        Host Should Move On    host    ${address}    53    ${away}
        Put Endpoints    ${BOTH}
    END

Affinity Is Kept Outside
    Put Web    coeus-service:session-affinity=ClientIP    coeus-service:session-affinity-timeout=5
    FOR    ${address}    IN    ${V4}    ${V6}
        Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer Host    ${address}    80    TCP
        Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer Host    ${address}    53    UDP
    END
    Put Web
    Wait Until Keyword Succeeds    20 s    1 s    Host Should Be Answered    host    ${V6}    80    among=${NAMES}

Under Local Traffic Policy The Node's Own Endpoints Answer
    Put Web    coeus-service:external-traffic-policy=Local
    FOR    ${address}    IN    @{ALL}
        ${own}=    Own Endpoint    ${address}
        Wait Until Keyword Succeeds    5 s    500 ms    Host Should Be Answered    host    ${address}    80    among=${own}
        Host Should Be Answered    gateway    ${address}    80    among=${own}
        Host Should Be Answered    host    ${address}    53    UDP    among=${own}
        Wait Until Keyword Succeeds    5 s    500 ms    Service Should Answer    blue:w1    ${address}    80    among=${NAMES}    times=16
    END
    Sources Should Be Seen

And Addresses Go Where These Are
    [Documentation]    The old node withdraws before the new one answers and announces.
    Begin To Ask    host    @{ALL}
    Put Endpoints    ${SECOND}
    Nothing Is Answered Twice    announced=${{[$V4, $V6]}}    missed=25
    ${own}=    Create List    blue:w2
    FOR    ${address}    IN    @{ALL}
        Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    host    ${address}    80    among=${own}
        Host Should Be Answered    host    ${address}    53    UDP    among=${own}
    END
    Sources Should Be Seen
    Begin To Ask    host    @{ALL}
    Put Endpoints    ${BOTH}
    Put Web
    Nothing Is Answered Twice    announced=${{[$V4, $V6]}}    missed=25
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    host    ${V6}    80    among=${NAMES}

Node Ports Are Served At A Node's Own Address
    [Documentation]    For hosts beyond either node, for pods of both, and for datagrams; who asks is seen as himself.
    FOR    ${node}    ${host}    IN    1    beyond    2    farther
        Route Pods Of Node    ${node}    10.11.${node}.0/24
        Connect Beyond    ${node}    ${host}
        ${address}=    Connect Beyond By Ipv6    ${node}    ${host}
        ${body}=    Give Node Ipv6    ${node}    10.11.${node}.0/24
        ${uid}=    Pod Uid    node${node}
        PUT On Session    coeus    ${CONFIG}/k8s-node:k8s-nodes-info/k8s-nodes/${uid}?${WAIT}    json=${body}    expected_status=any
        Host Should Be Answered Again    ${host}    ${NODE V6}${node}    30080
        Host Should Be Answered    ${host}    ${NODE V6}${node}    30080    among=${NAMES}
        Host Should Be Answered    ${host}    ${NODE V6}${node}    30053    UDP    among=${NAMES}    all_of_them=${False}
        Host Should Be Answered    ${host}    ${NODE V6}${node}    30090    among=${{[$address]}}
        Host Should Be Answered    ${host}    ${NODE V6}${node}    30091    UDP    among=${{[$address]}}
        ${bytes}=    Bytes Back    ${host}    ${NODE V6}${node}    30080
        Should Be Equal As Integers    ${bytes}    1048576
    END
    FOR    ${pod}    IN    blue:w1    blue:w2
        FOR    ${node}    IN    1    2
            Service Should Answer    ${pod}    ${NODE V6}${node}    30080    among=${NAMES}    times=16
            Service Should Answer    ${pod}    ${NODE V6}${node}    30053    UDP    among=${NAMES}    all_of_them=${False}
        END
    END

And By The Node's Own Endpoints, Where That Is Asked For
    Put Web    coeus-service:external-traffic-policy=Local
    FOR    ${node}    ${host}    IN    1    beyond    2    farther
        ${own}=    Create List    blue:w${node}
        Wait Until Keyword Succeeds    5 s    500 ms    Host Should Be Answered    ${host}    ${NODE V6}${node}    30080    among=${own}
        Host Should Be Answered    ${host}    ${NODE V6}${node}    30053    UDP    among=${own}
    END
    Put Web
    Wait Until Keyword Succeeds    5 s    500 ms    Host Should Be Answered    beyond    ${NODE V6}1    30080    among=${NAMES}

And By Others, When An Endpoint Goes
    ${name}=    Who Answers Host    beyond    ${NODE V6}1    30053    UDP
    ${left}=    Set Variable If    "${name}" == "blue:w1"    ${SECOND}    ${FIRST}
    ${away}=    Create List    Put Endpoints    ${left}
    Host Should Move On    beyond    ${NODE V6}1    30053    ${away}
    Put Endpoints    ${{[]}}
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Refused    beyond    ${NODE V6}1    30080
    Put Endpoints    ${BOTH}
    Host Should Be Answered Again    beyond    ${NODE V6}1    30080

Nobody Outside Is Left Without An Answer
    [Documentation]    Who asks when there is no endpoint is refused.
    Put Web
    Put Endpoints    ${{[]}}
    FOR    ${address}    IN    ${V4}    ${V6}
        Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Refused    host    ${address}    80
        Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Refused    host    ${address}    53    UDP
    END
    Put Endpoints    ${BOTH}
    Host Should Be Answered Again    host    ${V6}    80
    Host Should Be Answered Again    host    ${V4}    53    protocol=UDP

Another Node Takes Over From One That Is Lost
    ${before}=    Neighbour Of    host    ${V6}
    Begin To Ask    host    ${V4}    ${V6}
    Kill Daemon Of    1    vswitchd
    ${took}=    Host Should Be Answered Again    host    ${V6}    80    30
    Should Be True    ${took} < 10
    # Datagrams of one host go to one endpoint. It is still written down, but is asked no more.
    FOR    ${address}    IN    ${V4}    ${V6}
        Host Should Be Answered Again    host    ${address}    53    30    UDP
        Resource Should Come To Say    ${ADDRESSES}/${address}    desired    blue:w2
    END
    Resource Should Say    ${LOST}    switch
    Nothing Is Answered Twice    announced=${{[$V4, $V6]}}
    ${after}=    Neighbour Of    host    ${V6}
    Should Be Equal    ${before}    ${after}
    Should Be Equal    ${after}    02:c6:00:00:00:12

And Gives It Back When That Is There Again
    Begin To Ask    host    ${V4}    ${V6}
    Start Daemon Of    1    vswitchd
    FOR    ${address}    IN    ${V4}    ${V6}
        Resource Should Come To Say    ${ADDRESSES}/${address}    desired    blue:w1
        Host Should Be Answered Again    host    ${address}    80    30
        Host Should Be Answered Again    host    ${address}    53    30    UDP
    END
    Nothing Is Answered Twice    announced=${{[$V4, $V6]}}
    Wait Until Keyword Succeeds    20 s    1 s    Host Should Be Answered    host    ${V6}    80    among=${NAMES}
    Resource Should Not Exist    ${LOST}
    Sources Should Be Seen

A Restart Sends Nothing
    Stop Controller
    Start Controller
    Host Should Be Answered    host    ${V6}    80    among=${NAMES}
    Tables Should Be As From Scratch

What Goes Leaves Nothing
    DELETE On Session    coeus    ${SERVICES}/${WEB}    expected_status=200
    FOR    ${address}    IN    @{ALL}
        Wait Until Keyword Succeeds    10 s    300 ms    Host Should Get No Answer    host    ${address}    80
        Host Should Get No Answer    host    ${address}    53    UDP
        Resource Should Not Say    ${INFO}    ${address}
        FOR    ${node}    IN    1    2
            ${left}=    Flows Naming    ${node}    ${address}
            Should Be Empty    ${left}
        END
    END

*** Keywords ***
Start Two Nodes With Servers And Hosts
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Map Physical Network    1    physnet:br-phy
    Map Physical Network    2    physnet:br-phy
    Add Host Outside    gateway    1    300    203.0.113.1/24
    Add Host Outside    host    2    300    203.0.113.9/24    203.0.113.1
    Give Host Ipv6    gateway    2001:db8:113::1/64
    Give Host Ipv6    host    2001:db8:113::9/64    2001:db8:113::1
    ${body}=    External Network Body    300
    ${id}=    External Network Id
    PUT On Session    coeus    ${NETWORKS}/${id}    json=${body}    expected_status=201
    FOR    ${node}    IN    1    2
        Create And Plug Pod    w${node}    blue    ${node}    10.11.${node}.20    10.11.${node}.1
        ${body}=    Dual Pod Body    w${node}    blue    ${node}    10.11.${node}.20    fd00:${node}::20
        ${uid}=    Pod Uid    blue:w${node}
        PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=200
        Add Address    blue:w${node}    fd00:${node}::20/64    fe80::1
        FOR    ${version}    IN    v4    v6
            Start Server    blue:w${node}    TCP    8080    ${version}
            Start Server    blue:w${node}    UDP    5353    ${version}
            Start Server That Tells Sources    blue:w${node}    7000    TCP    ${version}
            Start Server That Tells Sources    blue:w${node}    7001    UDP    ${version}
        END
    END
    Ping Should Pass    blue:w1    10.11.2.20    30
    Ping Should Pass    blue:w1    fd00:2::20    30
    Set Suite Variable    @{FIRST}    10.11.1.20    fd00:1::20
    Set Suite Variable    @{SECOND}    10.11.2.20    fd00:2::20
    Set Suite Variable    @{BOTH}    @{FIRST}    @{SECOND}
    Set Suite Variable    @{NAMES}    blue:w1    blue:w2

Put Web
    [Arguments]    @{further}
    ${ports}=    Create List    http:TCP:80:8080:30080    dns:UDP:53:5353:30053    who:TCP:90:7000:30090    whose:UDP:91:7001:30091
    ${body}=    Service Outside Body    ${WEB}    web    blue    10.96.0.10    ${ports}    ${V4}    load-balancer-IP=${BALANCER}    @{further}
    ${body}=    Evaluate    {"service:services": [{**$body["service:services"][0], "ingress-ip-address": [$V6]}]}
    PUT On Session    coeus    ${SERVICES}/${WEB}?${WAIT}    json=${body}    expected_status=any

Put Endpoints
    [Arguments]    ${addresses}
    ${body}=    Endpoints Body    ${WEB}    web    blue    ${addresses}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    whose:UDP:7001
    PUT On Session    coeus    ${ENDPOINTS}/${WEB}?${WAIT}    json=${body}    expected_status=any

Own Endpoint
    [Documentation]    The endpoint of the node that has an address.
    [Arguments]    ${address}
    ${answer}=    GET On Session    coeus    ${ADDRESSES}/${address}
    ${switch}=    Set Variable    ${answer.json()["coeus-external:floating-address"][0]["switch"]}
    ${first}=    Dpid Of    1
    ${own}=    Set Variable If    "${switch}".replace(":", "") == "${first}"    blue:w1    blue:w2
    ${own}=    Create List    ${own}
    RETURN    ${own}

Sources Should Be Seen
    [Documentation]    By TCP and by datagrams, of both versions.
    FOR    ${address}    ${source}    IN    ${V4}    203.0.113.9    ${V6}    2001:db8:113::9    ${BALANCER}    2001:db8:113::9
        ${seen}=    Create List    ${source}
        Wait Until Keyword Succeeds    5 s    500 ms    Host Should Be Answered    host    ${address}    90    among=${seen}
        Host Should Be Answered    host    ${address}    91    UDP    among=${seen}
    END

One Endpoint Should Answer Host
    [Arguments]    ${address}    ${port}    ${protocol}
    ${first}=    Who Answers Host    host    ${address}    ${port}    ${protocol}
    Sleep    1 s
    Host Should Be Answered    host    ${address}    ${port}    ${protocol}    among=${{[$first]}}

Nothing Is Answered Twice
    [Documentation]    With `missed`: no more than so many questions, 40 ms apart, found no answer.
    [Arguments]    ${announced}    ${missed}=${None}
    ${seen}=    End Asking
    FOR    ${one}    IN    @{seen}
        Should Be True    ${one.questions} > 20    ${one}
        Should Be True    ${one.answered} > 0    ${one}
        Should Be Equal As Integers    ${one.twice}    0    ${one}
        IF    $missed is not None
            Should Be True    ${one.questions} - ${one.answered} <= ${missed}    ${one}
        END
        IF    "${one.address}" in ${announced}
            Should Be True    ${one.announced} > 0    ${one}
        END
    END

Stop All
    Stop Asking
    Stop Servers
    Stop Tellers
    Stop Lab
