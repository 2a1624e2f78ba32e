*** Settings ***
Documentation       Services that are asked from outside, on two nodes that share a physical network with hosts which know nothing of
...                 pods: at addresses of an external network, which one node answers for, and at node ports.
Resource            ../resources/coeus.resource
Library             String
Library             ../libraries/NorthSouth.py
Library             ../libraries/Floating.py
Library             ../libraries/Services.py
Library             ../libraries/ServicesOutside.py
Suite Setup         Start Two Nodes With Servers And Hosts
Suite Teardown      Stop All

*** Variables ***
${WEB}              5e1f0000-0000-4000-8000-000000000021
${OTHER}            5e1f0000-0000-4000-8000-000000000022
${ADDRESS}          203.0.113.12
${SERVICES}         ${CONFIG}/service:service-information/services
${ENDPOINTS}        ${CONFIG}/service:endpoints-info/endpoints
${NETWORKS}         ${CONFIG}/odl-nat:external-networks/networks
${INFO}             ${CONFIG}/odl-nat:floating-ip-info
${ADDRESSES}        ${OPERATIONAL}/coeus-external:floating-addresses/floating-address
${LOST}             ${OPERATIONAL}/coeus-external:lost-switches
${WAIT}             wait=programmed&timeout=10s

*** Test Cases ***
Nobody Is Asked Before There Is A Service
    Host Should Get No Answer    host    ${ADDRESS}    80
    Host Should Get No Answer    beyond    ${NODE 1}    30080

An Address Outside Leads To All Endpoints
    Put Web
    Put Endpoints    ${WEB}    web    blue    ${BOTH}    http:TCP:8080    dns:UDP:5353    who:TCP:7000
    Resource Should Come To Say    ${ADDRESSES}/${ADDRESS}    desired    blue:w1
    Resource Should Say    ${INFO}    ${ADDRESS}    blue:w1
    Host Should Be Answered Again    host    ${ADDRESS}    80
    Host Should Be Answered    host    ${ADDRESS}    80    among=${NAMES}
    Host Should Be Answered    host    ${ADDRESS}    53    UDP    among=${NAMES}    all_of_them=${False}

Beyond The Gateway As Well
    Host Should Be Answered    gateway    ${ADDRESS}    80    among=${NAMES}

From Pods As Well
    FOR    ${pod}    IN    blue:c1    red:c2
        Service Should Answer    ${pod}    ${ADDRESS}    80    among=${NAMES}    times=16
    END

One Node Answers For It
    ${answers}=    Floating.Who Answers    host    ${ADDRESS}
    Should Be Equal As Integers    ${answers}    1

Endpoints See Who Asks
    ${seen}=    Create List    203.0.113.9
    Host Should Be Answered    host    ${ADDRESS}    90    among=${seen}

A Node Port Is Served At Every Node
    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${NAMES}
    Host Should Be Answered    beyond    ${NODE 1}    30053    UDP    among=${NAMES}    all_of_them=${False}
    Host Should Be Answered    farther    ${NODE 2}    30080    among=${NAMES}
    FOR    ${pod}    IN    blue:c1    red:c2
        FOR    ${node}    IN    ${NODE 1}    ${NODE 2}
            Service Should Answer    ${pod}    ${node}    30080    among=${NAMES}    times=16
            Service Should Answer    ${pod}    ${node}    30053    UDP    among=${NAMES}    all_of_them=${False}
        END
    END
    Node Should Be Answered    1    ${NODE 1}    30080    ${NAMES}
    Node Should Be Answered    1    10.96.0.10    80    ${NAMES}

Who Asks At A Node Is Seen As Himself
    ${seen}=    Create List    ${BEYOND}
    Host Should Be Answered    beyond    ${NODE 1}    30090    among=${seen}

SCTP Is Served At Node Ports
    [Documentation]    From outside at the client's own node and by way of another one, and at another endpoint once that is the one; pods see who asks, and the node's address answers. The userspace
    ...    datapath of Open vSwitch 3.1 leaves SCTP's ports, so that the target port is the node port.
    Start Server Of Associations    blue:w1
    Start Server Of Associations    blue:w2
    Host Should Not Be Associated    beyond    ${BEYOND}    ${NODE 1}    30091
    ${ports}=    Create List    assoc:SCTP:9090:30091:30091
    ${body}=    Service Outside Body    ${OTHER}    assoc    blue    10.96.0.91    ${ports}
    PUT On Session    coeus    ${SERVICES}/${OTHER}?${WAIT}    json=${body}    expected_status=201
    FOR    ${address}    ${pod}    ${expected}    IN    10.11.1.20    blue:w1    201    10.11.2.20    blue:w2    200
        ${one}=    Create List    ${address}
        Put Endpoints    ${OTHER}    assoc    blue    ${one}    assoc:SCTP:30091    expected=${expected}
        Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Associated    beyond    ${BEYOND}    ${NODE 1}    30091    ${pod}
        Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Associated    farther    ${FARTHER}    ${NODE 2}    30091    ${pod}
    END
    Put Endpoints    ${OTHER}    assoc    blue    ${BOTH}    assoc:SCTP:30091    expected=200
    Host Should Be Associated    beyond    ${BEYOND}    ${NODE 1}    30091    blue:w1    blue:w2
    Host Should Not Be Associated    beyond    ${BEYOND}    ${NODE 1}    30092
    DELETE On Session    coeus    ${SERVICES}/${OTHER}    expected_status=200
    DELETE On Session    coeus    ${ENDPOINTS}/${OTHER}    expected_status=200

What Is No Node Port Is The Node's
    Start Server On Node    1    9443    node1
    ${node}=    Create List    node1
    Service Should Answer    blue:c1    ${NODE 1}    9443    among=${node}    times=2
    Ping Should Pass    blue:c1    ${NODE 1}

Much Goes Through
    FOR    ${way}    IN    host ${ADDRESS} 80    beyond ${NODE 1} 30080    farther ${NODE 2} 30080
        @{words}=    Split String    ${way}
        FOR    ${try}    IN RANGE    3
            ${bytes}=    Bytes Back    @{words}
            Should Be Equal As Integers    ${bytes}    1048576
        END
    END

A Client Keeps Its Endpoint, If That Is Wanted
    # What was asked just before is learned, too, as the datapath goes through what it caches.
    Put Web    coeus-service:session-affinity=ClientIP    coeus-service:session-affinity-timeout=20
    Host Should Be Answered Again    host    ${ADDRESS}    80
    # What a switch has learned holds once its datapath has taken it up.
    Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer Host    host    ${ADDRESS}    80
    Put Web
    Host Should Be Answered Again    host    ${ADDRESS}    80

And At Node Ports
    [Documentation]    Hosts and pods alike, of any protocol and at each node of its own; under local policy it is an endpoint of the node.
    # What was learned in the case before comes first while it lasts, since its timeout is shorter.
    FOR    ${port}    IN    30080    30053
        Wait Until Keyword Succeeds    40 s    1 s    Nobody Should Be Learned    ${port}
    END
    Put Web    coeus-service:session-affinity=ClientIP    coeus-service:session-affinity-timeout=30
    Host Should Be Answered Again    beyond    ${NODE 1}    30080
    FOR    ${protocol}    ${port}    IN    TCP    30080    UDP    30053
        Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer Host    beyond    ${NODE 1}    ${port}    ${protocol}
        Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer Host    farther    ${NODE 2}    ${port}    ${protocol}
        Wait Until Keyword Succeeds    10 s    500 ms    One Endpoint Should Answer Pod    blue:c1    ${NODE 2}    ${port}    ${protocol}
    END
    FOR    ${protocol}    IN    tcp    udp
        ${learned}=    Clients Learned    1    ${protocol},reg7=0x8/0x8
        Should Contain    ${learned}    ${BEYOND}
    END
    # A host that another node's endpoint had is its own node's, once policy is local.
    Who Had The First Endpoint Keeps The Second
    Put Web    coeus-service:session-affinity=ClientIP    coeus-service:session-affinity-timeout=30
    ...    coeus-service:external-traffic-policy=Local
    ${own}=    Create List    blue:w1
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${own}
    ${own}=    Create List    blue:w2
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    farther    ${NODE 2}    30080    among=${own}
    Put Web
    Host Should Be Answered Again    host    ${ADDRESS}    80

Who Has Been Silent For So Long Is Forgotten At Node Ports
    [Documentation]    Another timeout counts from the next connection on.
    FOR    ${timeout}    IN    20    3
        Put Web    coeus-service:session-affinity=ClientIP    coeus-service:session-affinity-timeout=${timeout}
        Wait Until Keyword Succeeds    10 s    500 ms    Client Should Be Learned    beyond    30090    ${timeout}
    END
    Wait Until Keyword Succeeds    20 s    500 ms    Nobody Should Be Learned    30090
    # Those of the case before.
    Wait Until Keyword Succeeds    90 s    1 s    Nobody Should Be Learned    300
    Put Web
    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${NAMES}

An Address That Nobody Granted Is Refused
    [Documentation]    It is on the network's link; of one that is elsewhere the service's state tells.
    ${ports}=    Create List    :TCP:80:8080:30081
    ${body}=    Service Outside Body    ${OTHER}    other    red    10.96.0.11    ${ports}    203.0.113.99
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${OTHER}    json=${body}    expected_status=400
    Should Contain    ${answer.text}    203.0.113.99
    Should Contain    ${answer.text}    granted
    Resource Should Not Exist    ${SERVICES}/${OTHER}
    ${body}=    Service Outside Body    ${OTHER}    other    red    10.96.0.11    ${ports}    192.0.2.99
    PUT On Session    coeus    ${SERVICES}/${OTHER}    json=${body}    expected_status=201
    Resource Should Say    ${OPERATIONAL}/coeus-service:service-states/service/${OTHER}    address 192.0.2.99 is granted by no external network
    DELETE On Session    coeus    ${SERVICES}/${OTHER}    expected_status=200

A Node Port Is One Service's
    ${ports}=    Create List    :TCP:80:8080:30080
    ${body}=    Service Outside Body    ${OTHER}    other    red    10.96.0.11    ${ports}
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${OTHER}    json=${body}    expected_status=409
    Should Contain    ${answer.text}    30080
    Should Contain    ${answer.text}    blue:web
    ${ports}=    Create List    :TCP:80:8080:8080
    ${body}=    Service Outside Body    ${OTHER}    other    red    10.96.0.11    ${ports}
    ${answer}=    PUT On Session    coeus    ${SERVICES}/${OTHER}    json=${body}    expected_status=400
    Should Contain    ${answer.text}    30000 to 32767
    Resource Should Not Exist    ${SERVICES}/${OTHER}

Local Traffic Policy Outside
    [Documentation]    Who asks a node, or the address that it has, gets its own endpoints; pods still get all.
    Put Web    coeus-service:external-traffic-policy=Local
    ${own}=    Create List    blue:w1
    # The datapath keeps what it cached of the time before for some hundred milliseconds.
    Wait Until Keyword Succeeds    5 s    500 ms    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${own}
    Host Should Be Answered    host    ${ADDRESS}    80    among=${own}
    ${own}=    Create List    blue:w2
    Host Should Be Answered    farther    ${NODE 2}    30080    among=${own}
    Wait Until Keyword Succeeds    5 s    500 ms    Service Should Answer    blue:c1    ${ADDRESS}    80    among=${NAMES}    times=16
    Service Should Answer    red:c2    ${NODE 1}    30080    among=${NAMES}    times=16
    Put Endpoints    ${WEB}    web    blue    ${SECOND}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Get No Answer    beyond    ${NODE 1}    30080
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    host    ${ADDRESS}    80    among=${own}
    ${answers}=    Floating.Who Answers    host    ${ADDRESS}
    Should Be Equal As Integers    ${answers}    1
    Put Endpoints    ${WEB}    web    blue    ${BOTH}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200

Local Traffic Policy Inside
    Put Web    coeus-service:internal-traffic-policy=Local
    ${own}=    Create List    blue:w1
    Wait Until Keyword Succeeds    5 s    500 ms    Service Should Answer    blue:c1    10.96.0.10    80    among=${own}    times=12
    ${own}=    Create List    blue:w2
    Service Should Answer    red:c2    10.96.0.10    80    among=${own}    times=12
    Host Should Be Answered Again    host    ${ADDRESS}    80
    Host Should Be Answered    host    ${ADDRESS}    80    among=${NAMES}
    Put Endpoints    ${WEB}    web    blue    ${SECOND}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    # A connection of the same moment may still have met what the datapath keeps for some hundred milliseconds.
    Wait Until Keyword Succeeds    10 s    500 ms    Service Should Refuse    blue:c1    10.96.0.10    80
    Put Endpoints    ${WEB}    web    blue    ${BOTH}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    Put Web

An Endpoint That Goes Is Not Asked Any More
    [Setup]    Put Endpoints    ${WEB}    web    blue    ${BOTH}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    [Documentation]    A sender that never pauses, too, at an address outside and at a node port; other connections stay.
    ${pod}=    Client Of    blue:w1    ${NODE 2}    30053    blue:c1    red:c2
    ${away}=    Create List    Put Endpoints    ${WEB}    web    blue    ${SECOND}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    Udp Sender Should Move On    ${pod}    ${NODE 2}    30053    ${away}
    ${own}=    Create List    blue:w2
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    host    ${ADDRESS}    80    among=${own}
    Host Should Be Answered    host    ${ADDRESS}    53    UDP    among=${own}
    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${own}
    Put Endpoints    ${WEB}    web    blue    ${BOTH}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    Host Should Be Answered Again    host    ${ADDRESS}    80

Another Node Takes Over From One That Is Lost
    ${before}=    Neighbour Of    host    ${ADDRESS}
    Kill Daemon Of    1    vswitchd
    ${took}=    Host Should Be Answered Again    host    ${ADDRESS}    80    30
    Should Be True    ${took} < 10
    Resource Should Say    ${LOST}    switch
    Resource Should Come To Say    ${ADDRESSES}/${ADDRESS}    desired    blue:w2
    ${after}=    Neighbour Of    host    ${ADDRESS}
    Should Be Equal    ${before}    ${after}

And Gives It Back When That Is There Again
    Start Daemon Of    1    vswitchd
    Resource Should Come To Say    ${ADDRESSES}/${ADDRESS}    desired    blue:w1
    Host Should Be Answered Again    host    ${ADDRESS}    80    30
    Wait Until Keyword Succeeds    20 s    1 s    Host Should Be Answered    host    ${ADDRESS}    80    among=${NAMES}
    ${answers}=    Floating.Who Answers    host    ${ADDRESS}
    Should Be Equal As Integers    ${answers}    1
    Resource Should Not Exist    ${LOST}

A Restart Sends Nothing
    Stop Controller
    Start Controller
    Host Should Be Answered    host    ${ADDRESS}    80    among=${NAMES}
    Tables Should Be As From Scratch

What Goes Leaves Nothing
    DELETE On Session    coeus    ${SERVICES}/${WEB}    expected_status=200
    Wait Until Keyword Succeeds    10 s    300 ms    Host Should Get No Answer    host    ${ADDRESS}    80
    Host Should Get No Answer    beyond    ${NODE 1}    30080
    Resource Should Not Say    ${INFO}    ${ADDRESS}
    FOR    ${node}    IN    1    2
        ${left}=    Flows Naming    ${node}    ${ADDRESS}
        Should Be Empty    ${left}
    END

*** Keywords ***
Who Had The First Endpoint Keeps The Second
    ${own}=    Create List    blue:w2
    Put Endpoints    ${WEB}    web    blue    ${SECOND}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    Wait Until Keyword Succeeds    10 s    500 ms    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${own}
    Put Endpoints    ${WEB}    web    blue    ${BOTH}    http:TCP:8080    dns:UDP:5353    who:TCP:7000    expected=200
    Host Should Be Answered    beyond    ${NODE 1}    30080    among=${own}

Start Two Nodes With Servers And Hosts
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Map Physical Network    1    physnet:br-phy
    Map Physical Network    2    physnet:br-phy
    Add Host Outside    gateway    1    300    203.0.113.1/24
    Add Host Outside    host    2    300    203.0.113.9/24    203.0.113.1
    ${body}=    External Network Body    300
    ${id}=    External Network Id
    PUT On Session    coeus    ${NETWORKS}/${id}    json=${body}    expected_status=201
    Create And Plug Pod    w1    blue    1    10.11.1.20    10.11.1.1
    Create And Plug Pod    w2    blue    2    10.11.2.20    10.11.2.1
    Create And Plug Pod    c1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    c2    red    2    10.11.2.30    10.11.2.1
    Ping Should Pass    blue:c1    10.11.2.20    30
    FOR    ${pod}    IN    blue:w1    blue:w2
        Start Server    ${pod}    TCP    8080
        Start Server    ${pod}    UDP    5353
        Start Server That Tells Sources    ${pod}    7000
    END
    Route Pods Of Node    1    10.11.1.0/24
    Route Pods Of Node    2    10.11.2.0/24
    Route Services Of Node    1
    FOR    ${node}    IN    1    2
        Hand Over Node Ports    ${node}
        ${address}=    Node Address    ${node}
        Set Suite Variable    ${NODE ${node}}    ${address}
    END
    ${address}=    Connect Beyond    1    beyond
    Set Suite Variable    ${BEYOND}    ${address}
    ${address}=    Connect Beyond    2    farther
    Set Suite Variable    ${FARTHER}    ${address}
    ${both}=    Create List    10.11.1.20    10.11.2.20
    Set Suite Variable    ${BOTH}    ${both}
    ${second}=    Create List    10.11.2.20
    Set Suite Variable    ${SECOND}    ${second}
    ${names}=    Create List    blue:w1    blue:w2
    Set Suite Variable    ${NAMES}    ${names}

One Endpoint Should Answer Host
    [Arguments]    ${host}    ${address}    ${port}    ${protocol}=TCP
    [Documentation]    The one that answers first answers ever after.
    ${first}=    Who Answers Host    ${host}    ${address}    ${port}    ${protocol}
    Sleep    1 s
    Host Should Be Answered    ${host}    ${address}    ${port}    ${protocol}    among=${{[$first]}}

One Endpoint Should Answer Pod
    [Arguments]    ${pod}    ${address}    ${port}    ${protocol}=TCP
    ${first}=    Who Answers Pod    ${pod}    ${address}    ${port}    ${protocol}
    Sleep    1 s
    Service Should Answer    ${pod}    ${address}    ${port}    ${protocol}    times=16    among=${{[$first]}}

Client Should Be Learned
    [Arguments]    ${host}    ${port}    ${timeout}
    Who Answers Host    ${host}    ${NODE 1}    ${port}
    ${learned}=    Clients Learned    1    reg7=0x8/0x8    tp_dst=${port}    hard_timeout=${timeout},
    Should Be Equal    ${learned}    ${{[$BEYOND]}}

Nobody Should Be Learned
    [Arguments]    ${port}
    FOR    ${node}    IN    1    2
        ${learned}=    Clients Learned    ${node}    tp_dst=${port}
        Should Be Empty    ${learned}
    END

Put Web
    [Arguments]    @{further}
    ${ports}=    Create List    http:TCP:80:8080:30080    dns:UDP:53:5353:30053    who:TCP:90:7000:30090
    ${body}=    Service Outside Body    ${WEB}    web    blue    10.96.0.10    ${ports}    ${ADDRESS}    @{further}
    PUT On Session    coeus    ${SERVICES}/${WEB}?${WAIT}    json=${body}    expected_status=any

Put Endpoints
    [Arguments]    ${uid}    ${name}    ${namespace}    ${addresses}    @{ports}    ${expected}=201
    ${body}=    Endpoints Body    ${uid}    ${name}    ${namespace}    ${addresses}    @{ports}
    PUT On Session    coeus    ${ENDPOINTS}/${uid}?${WAIT}    json=${body}    expected_status=${expected}

Route Services Of Node
    [Arguments]    ${node}
    Route Further To Node Port    ${node}    10.96.0.0/12

Stop All
    Stop Servers
    Stop Tellers
    Stop Lab
