*** Settings ***
Documentation       Routers of ext-routers, on two nodes that share a physical network with hosts which know nothing of pods: the pods of a
...                 VPN share addresses of that network, wherever they are. Each address is at one node; the others' pods go by it.
Resource            ../resources/coeus.resource
Library             ../libraries/Floating.py
Library             ../libraries/NorthSouth.py
Suite Setup         Start Two Nodes And Hosts
Suite Teardown      Stop Lab

*** Variables ***
${NETWORKS}         ${CONFIG}/odl-nat:external-networks/networks
${ROUTERS}          ${CONFIG}/odl-nat:ext-routers/routers
${FLOATING}         ${CONFIG}/odl-nat:floating-ip-info/router-ports
${NAPT SWITCHES}    ${OPERATIONAL}/odl-nat:napt-switches
${SUBNETS}          ${CONFIG}/odl-nat:external-subnets
${ADDRESSES}        ${OPERATIONAL}/coeus-external:floating-addresses/floating-address
${SOURCE NAT}       ${CONFIG}/coeus-north-south:source-nat
${FIRST}            203.0.113.15
${SECOND}           203.0.113.16
${V6}               2001:db8:113::15

*** Test Cases ***
Nobody Gets Outside Before There Is A Router
    FOR    ${pod}    IN    blue:p1    blue:p2    red:r1
        Ping Should Fail    ${pod}    203.0.113.9
    END

What Cannot Be Is Refused By Name
    ${body}=    Router Body    blue    203.0.113.99
    ${answer}=    PUT On Session    coeus    ${ROUTERS}/blue    json=${body}    expected_status=400
    Should Contain    ${answer.text}    203.0.113.99
    Resource Should Not Exist    ${ROUTERS}/blue

Pods Of The VPN Share Its Address Wherever They Are
    Put Router    blue    ${FIRST}
    Resource Should Come To Say    ${ADDRESSES}/${FIRST}    desired    "router-name":"blue"
    FOR    ${pod}    IN    blue:p1    blue:p2
        Ping Should Pass    ${pod}    203.0.113.9
        ${seen}=    Source Seen By    host    ${pod}    203.0.113.9
        Should Be Equal    ${seen}    ${FIRST}
        ${seen}=    Source Seen By    gateway    ${pod}    198.51.100.2
        Should Be Equal    ${seen}    ${FIRST}
        ${bytes}=    Bytes To Host    ${pod}    gateway    198.51.100.2
        Should Be Equal As Integers    ${bytes}    1048576
    END
    ${answers}=    Floating.Who Answers    host    ${FIRST}
    Should Be Equal As Integers    ${answers}    1

Nobody Else Does, And Nobody Comes In
    Ping Should Fail    red:r1    203.0.113.9
    Host Should Not Reach    host    ${FIRST}
    Host Should Not Reach    host    10.11.1.10
    Ping Should Fail    red:r1    10.11.2.10
    Ping Should Pass    blue:p1    10.11.2.10

By IPv6 As Well
    Put Router    blue    ${FIRST}    ${V6}
    Resource Should Come To Say    ${ADDRESSES}/${V6}    desired
    FOR    ${pod}    IN    blue:p1    blue:p2
        Ping Should Pass    ${pod}    2001:db8:113::9
        ${seen}=    Source Seen By    host    ${pod}    2001:db8:113::9
        Should Be Equal    ${seen}    ${V6}
        ${seen}=    Source Seen By    gateway    ${pod}    2001:db8:9::1
        Should Be Equal    ${seen}    ${V6}
        ${bytes}=    Bytes To Host    ${pod}    gateway    2001:db8:9::1
        Should Be Equal As Integers    ${bytes}    1048576
    END
    Host Should Not Reach    host    ${V6}
    ${seen}=    Source Seen By    host    blue:p2    203.0.113.9
    Should Be Equal    ${seen}    ${FIRST}

Two Routers Keep Pods Of One Address Apart
    [Documentation]    r1 of red has the address that p1 of blue has.
    Put Router    red    ${SECOND}
    Ping Should Pass    red:r1    203.0.113.9
    ${seen}=    Source Seen By    host    red:r1    203.0.113.9
    Should Be Equal    ${seen}    ${SECOND}
    ${seen}=    Source Seen By    host    blue:p1    203.0.113.9
    Should Be Equal    ${seen}    ${FIRST}
    FOR    ${pod}    IN    red:r1    blue:p1
        ${bytes}=    Bytes To Host    ${pod}    host    203.0.113.9
        Should Be Equal As Integers    ${bytes}    1048576
    END

An Address Of Its Own Comes First
    [Documentation]    As floating-ip-info of netvirt; DNAT in, SNAT out.
    ${body}=    Floating Body    blue    203.0.113.7    blue:p2    10.11.2.10
    PUT On Session    coeus    ${FLOATING}/blue    json=${body}    expected_status=201
    Host Should Reach    host    203.0.113.7
    ${seen}=    Source Seen By    host    blue:p2    203.0.113.9
    Should Be Equal    ${seen}    203.0.113.7
    ${seen}=    Source Seen By    host    blue:p1    203.0.113.9
    Should Be Equal    ${seen}    ${FIRST}
    ${body}=    Router Body    red    203.0.113.7
    ${answer}=    PUT On Session    coeus    ${ROUTERS}/red    json=${body}    expected_status=409
    Should Contain    ${answer.text}    blue:p2
    DELETE On Session    coeus    ${FLOATING}/blue    expected_status=200
    Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    blue:p2    ${FIRST}

Source NAT Of Nodes Is For The Others
    DELETE On Session    coeus    ${ROUTERS}/red    expected_status=200
    ${body}=    Shared Body    1    203.0.113.17
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=any
    Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    red:r1    203.0.113.17
    Pod Should Be Seen As    blue:p1    ${FIRST}
    ${body}=    Evaluate    {"coeus-north-south:source-nat": {"mode": "none"}}
    PUT On Session    coeus    ${SOURCE NAT}    json=${body}    expected_status=200

With An Address For Each Node Nothing Crosses The Overlay
    Put Router    blue    ${FIRST}    ${SECOND}    ${V6}
    Resource Should Come To Say    ${ADDRESSES}/${SECOND}    desired
    ${here}=    Switch Of    ${FIRST}
    ${there}=    Switch Of    ${SECOND}
    Should Not Be Equal    ${here}    ${there}
    ${one}=    Seen As    blue:p1
    ${two}=    Seen As    blue:p2
    ${both}=    Evaluate    {$one, $two}
    Should Be Equal    ${both}    ${{{$FIRST, $SECOND}}}
    Put Router    blue    ${FIRST}    ${V6}
    Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    blue:p1    ${FIRST}
    Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    blue:p2    ${FIRST}

Another Node Takes Over From One That Is Lost
    ${at}=    Switch Of    ${FIRST}
    ${one}=    Dpid Of    1
    # Who is outside hangs at a switch as well: asked is the one at the switch that stays.
    ${node}    ${pod}    ${host}    ${to}=    Set Variable If    "${at}" == "${one}"
    ...    ${{("1", "blue:p2", "host", "203.0.113.9")}}    ${{("2", "blue:p1", "gateway", "203.0.113.1")}}
    Kill Daemon Of    ${node}    vswitchd
    Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    ${pod}    ${FIRST}    ${host}    ${to}
    ${now}=    Switch Of    ${FIRST}
    Should Not Be Equal    ${at}    ${now}
    # As netvirt tells it, in decimal.
    Resource Should Say    ${NAPT SWITCHES}    "router-name":"blue"    "primary-switch-id":"${{int($now.replace(":", ""), 16)}}"
    Start Daemon Of    ${node}    vswitchd
    Wait Until Keyword Succeeds    30 s    500 ms    Switch Should Be    ${FIRST}    ${at}
    Wait For Switches
    FOR    ${pod}    IN    blue:p1    blue:p2
        Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    ${pod}    ${FIRST}
    END
    ${answers}=    Floating.Who Answers    host    ${FIRST}
    Should Be Equal As Integers    ${answers}    1

A Pod That Goes Takes Its Connections Along
    [Documentation]    One at the other node: with its last pod a node would lose the address, too.
    ${at}=    Switch Of    ${FIRST}
    ${one}=    Dpid Of    1
    ${goes}    ${stays}=    Set Variable If    "${at}" == "${one}"    ${{(2, 1)}}    ${{(1, 2)}}
    ${known}=    Connections Of Router    10.11.${goes}.10
    Should Be True    ${known} > 0
    Delete Pod    p${goes}    blue
    Wait Until Keyword Succeeds    10 s    300 ms    Connections Of Router Should Be    10.11.${goes}.10    0
    ${others}=    Connections Of Router    10.11.${stays}.10
    Should Be True    ${others} > 0
    Create Pod    p${goes}    blue    ${goes}    10.11.${goes}.10
    Ping Should Pass    blue:p${goes}    203.0.113.9    30

Switched Off It Leads Nowhere
    ${body}=    Router Body    blue    ${FIRST}    ${V6}    enable=${False}
    PUT On Session    coeus    ${ROUTERS}/blue    json=${body}    expected_status=200
    Resource Should Say    ${ADDRESSES}/${FIRST}    pending    enable-snat
    FOR    ${pod}    IN    blue:p1    blue:p2
        Wait Until Keyword Succeeds    30 s    300 ms    Ping Should Fail    ${pod}    203.0.113.9
    END
    Put Router    blue    ${FIRST}    ${V6}
    FOR    ${pod}    IN    blue:p1    blue:p2
        Wait Until Keyword Succeeds    30 s    500 ms    Pod Should Be Seen As    ${pod}    ${FIRST}
    END

A Restart Sends Nothing
    Stop Controller
    Start Controller
    Pod Should Be Seen As    blue:p2    ${FIRST}
    Tables Should Be As From Scratch

What Goes Leaves Nothing
    DELETE On Session    coeus    ${ROUTERS}/blue    expected_status=200
    FOR    ${pod}    IN    blue:p1    blue:p2
        Wait Until Keyword Succeeds    30 s    300 ms    Ping Should Fail    ${pod}    203.0.113.9
    END
    FOR    ${node}    IN    1    2
        FOR    ${text}    IN    203.0.113.    2001:db8:113::
            ${left}=    Flows Naming    ${node}    ${text}
            Should Be Empty    ${left}
        END
    END
    Resource Should Not Exist    ${ADDRESSES}/${FIRST}

*** Keywords ***
Start Two Nodes And Hosts
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Map Physical Network    1    physnet:br-phy
    Map Physical Network    2    physnet:br-phy
    Add Host Outside    gateway    1    300    203.0.113.1/24
    Make Host A Router    gateway    198.51.100.2/32
    Add Host Outside    host    2    300    203.0.113.9/24    203.0.113.1
    Give Host Ipv6    gateway    2001:db8:113::1/64
    Make Host A Router    gateway    2001:db8:9::1/128
    Give Host Ipv6    host    2001:db8:113::9/64    2001:db8:113::1
    ${body}=    External Network Body    300
    ${id}=    External Network Id
    PUT On Session    coeus    ${NETWORKS}/${id}    json=${body}    expected_status=201
    FOR    ${node}    IN    1    2
        Create And Plug Pod    p${node}    blue    ${node}    10.11.${node}.10    10.11.${node}.1
        ${body}=    Dual Pod Body    p${node}    blue    ${node}    10.11.${node}.10    fd00:${node}::10
        ${uid}=    Pod Uid    blue:p${node}
        PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=200
        Add Address    blue:p${node}    fd00:${node}::10/64    fe80::1
    END
    Create And Plug Pod    r1    red    1    10.11.1.10    10.11.1.1
    Ping Should Pass    blue:p1    10.11.2.10    30
    Ping Should Pass    blue:p1    fd00:2::10    30

Put Router
    [Arguments]    ${name}    @{addresses}
    ${body}=    Router Body    ${name}    @{addresses}
    PUT On Session    coeus    ${ROUTERS}/${name}    json=${body}    expected_status=any

Seen As
    [Arguments]    ${pod}    ${host}=host    ${to}=203.0.113.9
    Wait Until Keyword Succeeds    30 s    500 ms    Ping Should Pass    ${pod}    ${to}
    ${seen}=    Source Seen By    ${host}    ${pod}    ${to}
    RETURN    ${seen}

Pod Should Be Seen As
    [Arguments]    ${pod}    ${address}    ${host}=host    ${to}=203.0.113.9
    ${seen}=    Seen As    ${pod}    ${host}    ${to}
    Should Be Equal    ${seen}    ${address}

Switch Of
    [Arguments]    ${address}
    ${answer}=    GET On Session    coeus    ${ADDRESSES}/${address}    expected_status=200
    RETURN    ${answer.json()["coeus-external:floating-address"][0]["switch"]}

Switch Should Be
    [Arguments]    ${address}    ${dpid}
    ${at}=    Switch Of    ${address}
    Should Be Equal    ${at}    ${dpid}

Connections Of Router
    [Documentation]    How many connections of an address are remembered at the node that has the router's address.
    [Arguments]    ${source}
    ${at}=    Switch Of    ${FIRST}
    ${one}=    Dpid Of    1
    ${node}=    Set Variable If    "${at}" == "${one}"    1    2
    ${count}=    NorthSouth.Router Connections    ${node}    ${source}
    RETURN    ${count}

Connections Of Router Should Be
    [Arguments]    ${source}    ${count}
    ${known}=    Connections Of Router    ${source}
    Should Be Equal As Integers    ${known}    ${count}
